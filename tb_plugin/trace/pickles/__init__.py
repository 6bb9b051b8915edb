"""What do Python pickles that torch writes hold? Read without running anything of them."""
