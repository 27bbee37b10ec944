"""What several test modules need: data, oracles, servers and fits; no test stands here."""
