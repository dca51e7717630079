/** A write for which a table must grow: on a full disk, it fails although writes that find space in their tables succeed. */
import { sql } from '../../sql/writer.ts'
import { statementOf } from '../connections/statement.ts'

/** Too short to be stored compressed or elsewhere, and longer than what the fill factor of `_probes` leaves of a page. */
const fillerCharacters = 1000
/** Each row takes a page of its own. */
const maxRows = 128

/** In this order: the space of deleted rows can be used again only once they have been vacuumed. */
export const growTable = [
  statementOf(sql`DELETE FROM "_probes" WHERE (SELECT count(*) FROM "_probes") >= ${[String(maxRows)]}`),
  statementOf(sql`INSERT INTO "_probes" ("filler") VALUES (repeat('x', ${[String(fillerCharacters)]}))`),
]
