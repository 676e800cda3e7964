"""Write the tables into the documents."""

from __future__ import annotations

from document_tables.documents import documents, filled

for document in documents():
    document.write_text(filled(document), "utf-8")
