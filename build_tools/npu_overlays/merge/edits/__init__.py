"""The action ``edited``: finds and replacements → the exchanges inside one definition, checked to read as written."""
