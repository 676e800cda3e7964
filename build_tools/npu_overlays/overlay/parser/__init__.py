"""How a merge module is read: bytes → parsed module → marks → arguments → operations; nothing is executed."""
