"""The action ``edited``: finds and replacements → what is exchanged inside one definition, and still reads as meant."""
