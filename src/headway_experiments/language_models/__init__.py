"""Which attention heads of a language model follow the chain: read, ranked, knocked out."""
