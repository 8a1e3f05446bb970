"""Reading the scripts that attnlab writes."""

import ast


def experiment_of(script):
    """What the script's imports and its assignment to `experiment` make, without the run."""
    tree = ast.parse(script)
    wanted = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    assignments = [node for node in tree.body if isinstance(node, ast.Assign)]
    wanted.append(next(node for node in assignments if node.targets[0].id == "experiment"))
    names = {}
    exec(compile(ast.Module(body=wanted, type_ignores=[]), "script", "exec"), names)
    return names["experiment"]
