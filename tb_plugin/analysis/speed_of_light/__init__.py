"""How fast could every kernel, op, module and step have been on this device?"""
