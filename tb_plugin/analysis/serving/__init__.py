"""Which iterations did an inference engine run, and what did each phase cost?"""
