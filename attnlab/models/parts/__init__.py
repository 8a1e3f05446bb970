"""Parts that several families of models are made of."""
