"""What an episode leaves behind, read: results, player status, error info, logs and telemetry.

Every reader takes what an untrusted server, game or player wrote, and gives checked values or `ArtifactUnreadable`.
"""
