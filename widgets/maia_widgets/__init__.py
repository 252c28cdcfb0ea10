"""What is seen of a turn in a notebook: events in, widgets and static output out."""
