"""How a merge module is read: bytes → parsed module → marks → what each says → operations; nothing is executed."""
