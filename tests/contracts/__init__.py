"""What operations depend on upstream, kept in the lock and compared with another pin."""
