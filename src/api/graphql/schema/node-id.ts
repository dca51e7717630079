/** Ids that are unique across all types: `Post:1`. */

const grammar = /^([A-Za-z]\w*):(.*)$/s

export function nodePrefix(type: string): string {
  return `${type}:`
}

/** The type in a node id; undefined for a text that is not a node id. */
export function typeOfNode(nodeId: unknown): string | undefined {
  return grammar.exec(String(nodeId))?.[1]
}

/** The item's own id in a node id. */
export function idOfNode(nodeId: unknown): string {
  return grammar.exec(String(nodeId))?.[2] ?? ''
}
