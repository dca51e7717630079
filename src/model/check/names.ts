/** Checks names, derives singulars, and checks the GraphQL names that are derived from both. */
import type { Faults } from './faults.ts'

const maxNameLength = 50
const grammar = /^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/

type Reasons = Readonly<Record<string, string>>

const reserve = (reason: string, names: string): Reasons =>
  Object.fromEntries(names.split(' ').map(name => [name, reason]))

const everywhere = reserve('every JavaScript object has a property of this name', 'constructor prototype')

/** Paths under `/api/v1`, and built-in collections, planned ones included. */
const reservedCollections: Reasons = {
  ...everywhere,
  ...reserve(
    'every model has it already',
    'api_keys oauth_apps oauth_app_secrets webhooks webhook_deliveries',
  ),
  ...reserve('the API uses this path itself', 'openapi docs me events batch actions queries uploads explain'),
  ...reserve('the database has a function of this name', 'json_each pragma_table_info'),
  ...reserve('`data.transaction` is a transaction', 'transaction'),
  ...reserve('JavaScript would treat the client, which has the collections as members, as a promise', 'then'),
}

const reservedFields: Reasons = {
  ...everywhere,
  ...reserve('every item has it already', 'id created_at updated_at'),
  ...reserve('it is a query parameter of every list', 'page per_page cursor sort fields include q api_key'),
  ...reserve('it joins conditions in a GraphQL filter', 'and or not'),
  // SQLite: an alias of this name is not a column outside its subquery, although it is quoted.
  ...reserve('SQLite takes it as a value', 'true false'),
  ...reserve('the database has a column of this name', 'rowid oid tableoid xmin xmax cmin cmax ctid'),
}

/** Databases and Portico reserve these table names. */
const reservedPrefix = /^(?:sqlite|pg|portico)_/

function nameFault(name: string, reserved: Reasons): string | undefined {
  if (name.length > maxNameLength) return `The name is longer than ${maxNameLength} characters. Shorten it.`
  if (!grammar.test(name)) return badName(name)
  const reason = Object.hasOwn(reserved, name) ? reserved[name] : undefined
  if (reason === undefined) return undefined
  // A built-in collection or field stores its own data under its name, so `renamedFrom` cannot keep the former data.
  const renameHint = reason.endsWith('has it already') ? '' : `; \`renamedFrom: '${name}'\` keeps its data`
  return `The name is reserved: ${reason}. Choose another name${renameHint}.`
}

function badName(name: string): string {
  const better = snakeCase(name)
  const write = grammar.test(better) ? `Write \`${better}\`.` : 'Write e.g. `blog_posts`.'
  return `A name must be in snake_case: lower-case letters, digits and single underscores, a letter first. ${write}`
}

function snakeCase(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .replace(/^[_0-9]+|_+$/g, '')
    .toLowerCase()
}

export function checkCollectionName(name: string, place: string, faults: Faults): void {
  const prefixed = reservedPrefix.test(name)
    ? 'Names with this prefix are reserved. Choose another name.'
    : undefined
  const fault = nameFault(name, reservedCollections) ?? prefixed
  if (fault !== undefined) faults.add(place, fault)
}

/** Fields and relations. */
export function checkFieldName(name: string, place: string, faults: Faults): void {
  const fault = nameFault(name, reservedFields)
  if (fault !== undefined) faults.add(place, fault)
}

/** Singulars and former names. */
export function checkPlainName(name: unknown, place: string, faults: Faults): void {
  const fault = nameFault(String(name), everywhere)
  if (fault !== undefined) faults.add(place, fault)
}

type Ending = readonly [ending: RegExp, replacement: string | undefined]

/** The first match applies. Without a replacement, the singular cannot be derived. */
const endings: readonly Ending[] = [
  [/(?:^|_)(?:news|series|species|data|people|children|men|women|mice|feet|media)$/, undefined],
  [/(^|_)(movie|cookie|cache|tie|pie|die|lie)s$/, '$1$2'],
  [/([ao]use)s$/, '$1'],
  [/(?:us|is|ss|zz|oe|use|zze)s?$/, undefined],
  [/([^aeiou_])ies$/, '$1y'],
  [/(ss|x|ch|sh)es$/, '$1'],
  [/([a-rt-z0-9])s$/, '$1'],
]

/** `posts` → `post`. Undefined if the declaration has to name the singular. */
export function singularOf(plural: string): string | undefined {
  const ending = endings.find(([pattern]) => pattern.test(plural))
  if (ending?.[1] === undefined) return undefined
  const [pattern, replacement] = ending
  const singular = plural.replace(pattern, replacement)
  return singular === plural || singular === '' ? undefined : singular
}

/** `blog_post` → `blogPost`. */
export function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

/** `blog_post` → `BlogPost`. */
export function pascalCase(name: string): string {
  const camel = camelCase(name)
  return camel.charAt(0).toUpperCase() + camel.slice(1)
}

const reservedTypes = new Set([
  ...['Query', 'Mutation', 'Subscription', 'PageInfo', 'Node', 'Me', 'Event'],
  ...['Int', 'Float', 'String', 'Boolean', 'Id', 'Json', 'Date', 'DateTime', 'Uuid', 'Url', 'Cursor'],
])

/** The endings of the names of a collection's GraphQL types. */
const typeEndings = ['', 'Connection', 'Edge', 'Filter', 'OrderBy', 'Input', 'Payload']

interface NamedCollection {
  readonly name: string
  readonly singular: string
}

/** Another collection with a GraphQL type of the same name. `outline.ts` reports equal singulars. */
function typeClash({ singular }: NamedCollection, others: readonly NamedCollection[]): string | undefined {
  const types = new Set(typeEndings.map(ending => pascalCase(singular) + ending))
  const clashes = (other: NamedCollection) =>
    typeEndings.some(ending => types.has(pascalCase(other.singular) + ending))
  return others.find(other => other.singular !== singular && clashes(other))?.name
}

export function checkGraphqlNames(collections: Iterable<NamedCollection>, faults: Faults): void {
  const earlier: NamedCollection[] = []
  for (const collection of collections) {
    const { name, singular } = collection
    const place = `${name}.singular`
    const type = pascalCase(singular)
    const clash = typeClash(collection, earlier)
    if (reservedTypes.has(type)) {
      const message = `\`${singular}\` would be the GraphQL type \`${type}\`, which is reserved.`
      faults.add(place, `${message} Write another \`singular\`.`)
    }
    if (clash !== undefined) {
      const message = `The GraphQL types of \`${singular}\` have the same names as those of \`${clash}\`.`
      faults.add(place, `${message} Write another \`singular\`.`)
    }
    earlier.push(collection)
  }
}

export function checkCamelNames(names: Iterable<string>, place: string, faults: Faults): void {
  const owners = new Map<string, string>()
  for (const name of names) {
    const camel = camelCase(name)
    const other = owners.get(camel)
    if (other !== undefined && other !== name) {
      faults.add(
        `${place}.${name}`,
        `Its GraphQL name, \`${camel}\`, is also that of \`${other}\`. Choose another name.`,
      )
    }
    owners.set(camel, name)
  }
}
