"""How a stack is attached to what people already have."""
