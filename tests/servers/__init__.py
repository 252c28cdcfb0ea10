"""Model servers on 127.0.0.1, one file a dialect; each is checked against other people's clients."""
