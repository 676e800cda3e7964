"""Site: documents, wheels and reports → pages for a browser, with the index to install from beside them."""
