/** Which fields of other rows conditions read, so that a change of other fields cannot alter their results. */
import { leavesOf } from '../../../base/predicate.ts'
import type { Condition, RelationPath } from '../guarded-conditions.ts'

/** By the name of their collection: the names of the fields. */
export type AskedFields = Map<string, Set<string>>

type AddField = (collection: string | undefined, field: string) => void

/** Adds the fields that `condition` reads of other rows. `collection`: of the row if it is one of them. */
export function addAskedFields(
  condition: Condition,
  collection: string | undefined,
  asked: AskedFields,
): AskedFields {
  const add: AddField = (name, field) => {
    if (name === undefined) return
    const fields = asked.get(name) ?? new Set()
    asked.set(name, fields.add(field))
  }
  for (const leaf of leavesOf(condition)) {
    if (leaf.kind === 'compare' || leaf.kind === 'isNull' || leaf.kind === 'nullness') {
      add(collection, leaf.field.field.name)
    } else if (leaf.kind === 'fields') {
      for (const { steps, field } of [leaf.left, leaf.right]) {
        let from: string | undefined = collection
        for (const path of steps) from = addPath(path, from, add)
        add(from, field.name)
      }
    } else if (leaf.kind === 'related') {
      const { path, rows } = leaf
      if ('joinRows' in path) addAskedFields(path.joinRows, path.relation.through, asked)
      addAskedFields(rows, addPath(path, collection, add), asked)
    }
  }
  return asked
}

/** Adds the fields that hold the references. Returns the name of the collection that the path leads to. */
function addPath({ relation, target }: RelationPath, from: string | undefined, add: AddField): string {
  // Rows without fields that are asked for: whether they exist.
  add(target.name, 'id')
  switch (relation.kind) {
    case 'one':
      add(from, relation.field)
      break
    case 'many':
      add(target.name, relation.field)
      break
    case 'manyToMany':
      add(relation.through, relation.from)
      add(relation.through, relation.to)
  }
  return target.name
}
