"""The session that bare `surefoot` opens in a terminal."""
