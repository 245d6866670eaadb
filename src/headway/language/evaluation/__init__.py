"""The paper's protocol by way of Inspect AI: ask until the answer is acceptable."""
