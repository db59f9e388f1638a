"""minburn: Burn's architecture in Python."""
