"""What several test files need. Nothing here is a test."""
