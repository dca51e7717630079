/** Names and texts within statements that define tables. */

/** An identifier of the model, quoted. */
export function ident(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
