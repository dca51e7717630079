/** Settings with several values: an object, or `user=1000, address=120` in the variable. */
import { isObject } from '../../base/json.ts'
import type { Kind } from './kinds.ts'
import type { Setting } from './setting.ts'

interface Member<T, G> {
  readonly kind: Kind<T, G>
  readonly default: NoInfer<G>
  readonly description: string
}

export function member<T, G>(row: Member<T, G>): Member<T, G> {
  return row
}

type Members = Readonly<Record<string, Member<unknown, unknown>>>

type ValuesOf<M> = { readonly [Name in keyof M]: M[Name] extends Member<infer T, infer _> ? T : never }
type GivenOf<M> = {
  readonly [Name in keyof M]?: (M[Name] extends Member<infer _, infer G> ? G : never) | undefined
}

interface Row<M> {
  readonly variable: string
  readonly description: string
  readonly members: M
  /** What is wrong with values that are valid each for itself. */
  readonly faultOf?: (values: ValuesOf<M>) => string | undefined
}

/** A setting whose members all have a default. */
export function membersSetting<const M extends Members>({
  variable,
  description,
  members,
  faultOf = () => undefined,
}: Row<M>): Setting<ValuesOf<M>, GivenOf<M>> {
  const rows = Object.entries(members)
  return {
    variable,
    kind: membersKind(members, faultOf),
    default: {},
    defaultText: `\`${rows.map(([name, row]) => `${name}=${row.default}`).join(', ')}\``,
    description,
    members: rows.map(([name, row]) => `\`${name}\`: ${row.description} Value: ${row.kind.expected}.`),
  }
}

/** Omitted members get their defaults. */
function membersKind<const M extends Members>(
  members: M,
  faultOf: (values: ValuesOf<M>) => string | undefined,
): Kind<ValuesOf<M>, GivenOf<M>> {
  const names = Object.keys(members)
  const read = (given: Readonly<Record<string, unknown>>, method: 'fromText' | 'fromValue') => {
    const values = readMembers(members, given, method) as ValuesOf<M>
    const fault = faultOf(values)
    if (fault !== undefined) throw new RangeError(fault)
    return values
  }
  return {
    expected: `some of ${names.map(name => `\`${name}\``).join(', ')}: \`${names[0]}=…, ${names.at(-1)}=…\` in the variable, an object elsewhere`,
    fromText: text => {
      const given = assignments(text)
      return given && read(given, 'fromText')
    },
    fromValue: value => (isObject(value) ? read(value, 'fromValue') : undefined),
  }
}

function assignments(text: string): Readonly<Record<string, unknown>> | undefined {
  const parts = text.split(',').map(part => /^ *(\w+) *= *(.*?) *$/.exec(part))
  if (parts.some(part => part === null)) return undefined
  const entries = parts.map(part => [part?.[1] ?? '', part?.[2]] as const)
  const repeated = entries.find(([name], index) => entries.findIndex(([other]) => other === name) < index)
  if (repeated) throw new RangeError(`has \`${repeated[0]}\` twice`)
  return Object.fromEntries(entries)
}

function readMembers(
  table: Members,
  given: Readonly<Record<string, unknown>>,
  method: 'fromText' | 'fromValue',
): Readonly<Record<string, unknown>> {
  const unknown = Object.keys(given).find(name => !Object.hasOwn(table, name))
  if (unknown !== undefined)
    throw new RangeError(
      `has \`${unknown.slice(0, 50)}\`, which is none of its members ${Object.keys(table).join(', ')}`,
    )
  return Object.fromEntries(
    Object.entries(table).map(([name, row]) => [
      name,
      given[name] === undefined
        ? row.kind.fromValue(row.default)
        : readMember(name, row, given[name], method),
    ]),
  )
}

function readMember(
  name: string,
  { kind }: Member<unknown, unknown>,
  value: unknown,
  method: 'fromText' | 'fromValue',
): unknown {
  const parsed = parseMember(name, () => kind[method](value as string))
  if (parsed !== undefined) return parsed
  throw new RangeError(`\`${name}\` must be ${kind.expected}. It is ${JSON.stringify(value)?.slice(0, 100)}`)
}

/** Adds the member's name to the message of a `RangeError`. */
function parseMember(name: string, parse: () => unknown): unknown {
  try {
    return parse()
  } catch (error) {
    if (error instanceof RangeError) throw new RangeError(`\`${name}\`: ${error.message}`)
    throw error
  }
}
