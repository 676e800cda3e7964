"""How a stack is installed: extras, constraints and the install page."""
