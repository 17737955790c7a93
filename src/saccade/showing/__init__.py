"""What a certified model shows of itself: its plan as an outline, and a card for notebooks."""
