/** Ids that name an item among those of all types: `Post:1`. */

const grammar = /^([A-Za-z]\w*):(.*)$/s

/** What stands before the id of an item of this type. */
export function nodePrefix(type: string): string {
  return `${type}:`
}

/** The type that an id names; undefined where it names none. */
export function typeOfNode(nodeId: unknown): string | undefined {
  return grammar.exec(String(nodeId))?.[1]
}

/** What follows the type. */
export function idOfNode(nodeId: unknown): string {
  return grammar.exec(String(nodeId))?.[2] ?? ''
}
