"""Evidence: logged calls as rows of state, move and outcome, in one document that other tools read too."""
