"""What several test folders share: a clean environment, made-up upstreams and overlays, a wheelhouse."""
