/** Every encoding that the stored schema of a database may name. */
import { booleanEncoding } from './boolean.ts'
import { dateEncoding } from './date.ts'
import { datetimeEncoding } from './datetime.ts'
import type { Encoding } from './encoding.ts'
import { fileEncoding } from './file.ts'
import { wholeEncoding } from './integer.ts'
import { documentEncoding } from './json.ts'
import { realEncoding } from './number.ts'
import { textEncoding } from './textual.ts'

/** For an unknown encoding, the first with the same column type is used. */
const encodings: readonly Encoding[] = [
  textEncoding,
  wholeEncoding,
  realEncoding,
  booleanEncoding,
  documentEncoding,
  fileEncoding,
  datetimeEncoding,
  dateEncoding,
]

/** The encoding of a stored column. An unknown one can only come from a newer version. */
export function storedEncoding(name: string, sqliteType: string): Encoding {
  const sameColumnType = encodings.filter(({ sqlite }) => sqlite.type === sqliteType)
  return (
    sameColumnType.find(encoding => encoding.name === name) ?? {
      ...(sameColumnType[0] ?? textEncoding),
      name,
    }
  )
}
