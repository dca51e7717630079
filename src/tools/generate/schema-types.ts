/** Translates JSON Schemas to TypeScript. Each named schema that is referenced becomes one interface or type. */

import { isObject, type UncheckedObject } from '../../base/json.ts'
import { referenceOf, resolved } from './description.ts'
import { DocumentError } from './errors.ts'
import { listAt, objectAt, textAt } from './members.ts'
import { docComment, propertyName, quoted, typeName } from './text.ts'

/** A bound for hostile documents: schemas that are nested deeper become `unknown`. */
const maxDepth = 30
/** The maximum length of all types together: more than any document of Portico needs. */
const maxCharacters = 64 * 1024 * 1024

const simpleTypes: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
}

/** The constraints that a comment states after the description. */
function constraints(schema: UncheckedObject): string {
  const { maxLength, minimum, maximum, maxItems, default: value } = schema
  const format = textAt(schema, 'format')
  const isShownFormat = ['date', 'date-time', 'email', 'uri', 'uuid', 'time'].includes(format)
  const hasRange = typeof minimum === 'number' && typeof maximum === 'number' && maximum < 2 ** 31 - 1
  return [
    isShownFormat && `As \`${format}\`.`,
    typeof maxLength === 'number' && `At most ${maxLength} characters.`,
    typeof maxItems === 'number' && `At most ${maxItems}.`,
    hasRange && `${minimum} to ${maximum}.`,
    isShort(value) && `Default: \`${JSON.stringify(value)}\`.`,
  ]
    .filter(sentence => sentence !== false)
    .join(' ')
}

/** Whether a default is short enough for a comment. */
function isShort(value: unknown): boolean {
  return typeof value === 'string' ? value.length < 60 : value !== undefined && isSimple(value)
}

/** Omits `Read-only.`, because clients can assign no property of an item. */
function commentOf(schema: UncheckedObject): string {
  const description = textAt(schema, 'description').replace(/ ?Read-only\.$/, '')
  return [description, constraints(schema)].filter(part => part !== '').join(' ')
}

function literal(value: unknown): string {
  return typeof value === 'string' ? quoted(value) : isSimple(value) ? String(value) : 'unknown'
}

function isSimple(value: unknown): boolean {
  return value === null || typeof value === 'boolean' || typeof value === 'number'
}

function union(parts: readonly string[]): string {
  const distinct = [...new Set(parts)]
  return distinct.includes('unknown') ? 'unknown' : distinct.join(' | ') || 'never'
}

export interface ItemSchema {
  /** The description of the collection. */
  readonly description: string
  /** The names of members that reads return only on request; the type omits them. */
  readonly onRequest: ReadonlySet<string>
}

const none: ReadonlySet<string> = new Set()

export class SchemaTypes {
  readonly #document: UncheckedObject
  /** The names of types, by the name of their schema. */
  readonly #names = new Map<string, string>()
  readonly #usedNames: Set<string>
  /** The last number that was appended to a name. */
  readonly #counts = new Map<string, number>()
  readonly #written: string[] = []
  /** The names of schemas other than objects that are being written. */
  readonly #open = new Set<string>()
  #characters = 0
  /** Functions that write the interfaces that have a name but no text yet. */
  readonly #pending: (() => void)[] = []
  readonly #items: ReadonlyMap<string, ItemSchema>

  /** `reserved`: names that no type may have; `items`: the schemas of items, by name. */
  constructor(document: UncheckedObject, reserved: Iterable<string>, items: ReadonlyMap<string, ItemSchema>) {
    this.#document = document
    this.#usedNames = new Set(reserved)
    this.#items = items
  }

  /** The declarations of all requested types, and of the types that they refer to. */
  get declarations(): string {
    return this.#written.join('\n')
  }

  /** The type of a schema. An object without a name in the document becomes a type with the preferred name. */
  type(schema: UncheckedObject, preferredName: string): string {
    if (referenceOf(schema) !== undefined || !isObject(schema['properties'])) {
      return this.#complete(this.#text(schema, '', 0))
    }
    const name = this.#uniqueName(preferredName)
    this.#declare(name, schema, undefined)
    return this.#complete(name)
  }

  /** An object type with these properties of a schema, all of them required. */
  part(schema: UncheckedObject, names: readonly string[], indent: string): string {
    if (names.length === 0) return '{}'
    const properties = objectAt(resolved(this.#document, schema), 'properties')
    const own = names.map(name => [name, properties[name] ?? {}] as const)
    const objectSchema = { properties: Object.fromEntries(own), required: names }
    return this.#complete(this.#object(objectSchema, indent, 0, none))
  }

  /** An object type without a name. */
  inline(schema: UncheckedObject, indent: string): string {
    if (Object.keys(objectAt(schema, 'properties')).length === 0) return '{}'
    return this.#complete(this.#object(schema, indent, 0, none))
  }

  /** Writes the interfaces that the text refers to, directly or indirectly. */
  #complete(text: string): string {
    for (let write = this.#pending.shift(); write !== undefined; write = this.#pending.shift()) write()
    return text
  }

  #uniqueName(preferredName: string): string {
    const baseName = typeName(preferredName)
    let count = this.#counts.get(baseName) ?? 1
    let name = count === 1 ? baseName : `${baseName}_${count}`
    while (this.#usedNames.has(name)) name = `${baseName}_${++count}`
    this.#counts.set(baseName, count)
    this.#usedNames.add(name)
    return name
  }

  #named(schemaName: string): string {
    // A type alias that refers to itself would not compile.
    if (this.#open.has(schemaName) || this.#open.size > maxDepth) return 'unknown'
    const existing = this.#names.get(schemaName)
    if (existing !== undefined) return existing
    const schema = resolved(this.#document, { $ref: `#/components/schemas/${schemaName}` })
    if (Object.keys(schema).length === 0) return 'unknown'
    const name = this.#uniqueName(schemaName)
    this.#names.set(schemaName, name)
    if (!isObject(schema['properties'])) this.#open.add(schemaName)
    this.#declare(name, schema, this.#items.get(schemaName))
    this.#open.delete(schemaName)
    return name
  }

  /** Declares types in the order in which they were first named. */
  #declare(name: string, schema: UncheckedObject, item: ItemSchema | undefined): void {
    const index = this.#written.push('') - 1
    const comment = docComment(item?.description ?? textAt(schema, 'description'), [], '')
    if (!isObject(schema['properties'])) {
      this.#written[index] = `${comment}export type ${name} = ${this.#text(schema, '', 0)}\n`
      return
    }
    // Deferred, because interfaces may refer to each other in chains of any length.
    this.#pending.push(() => {
      const body = this.#object(schema, '', 0, item?.onRequest ?? none)
      this.#written[index] = `${comment}export interface ${name} ${body}\n`
    })
  }

  #text(schema: unknown, indent: string, depth: number): string {
    if (!isObject(schema) || depth > maxDepth) return 'unknown'
    const schemaName = referenceOf(schema)
    if (schemaName !== undefined) return this.#named(schemaName)
    if (Object.hasOwn(schema, 'const')) return literal(schema['const'] ?? null)
    const values = listAt(schema, 'enum')
    if (values.length > 0) return union(values.map(literal))
    const parts = (name: string) => listAt(schema, name).map(part => this.#text(part, indent, depth + 1))
    const alternatives = [...parts('anyOf'), ...parts('oneOf')]
    if (alternatives.length > 0) return union(alternatives)
    const intersection = parts('allOf')
    if (intersection.length > 0)
      return intersection.map(part => (part.includes(' | ') ? `(${part})` : part)).join(' & ')
    const types = [schema['type']].flat().filter(type => typeof type === 'string')
    return types.length === 0
      ? 'unknown'
      : union(types.map(type => this.#ofType(type, schema, indent, depth)))
  }

  #ofType(type: string, schema: UncheckedObject, indent: string, depth: number): string {
    if (type === 'array') return this.#array(schema, indent, depth)
    if (type === 'object') return this.#object(schema, indent, depth, none)
    return simpleTypes[type] ?? 'unknown'
  }

  /** Limits the total length: a schema without a name is written again for each reference. */
  #limited(text: string, depth: number): string {
    if (depth === 0) this.#characters += text.length
    if (this.#characters > maxCharacters)
      throw new DocumentError('The document repeats its schemas so often that the types would be too large.')
    return text
  }

  #array(schema: UncheckedObject, indent: string, depth: number): string {
    const tuple = listAt(schema, 'prefixItems').map(item => this.#text(item, indent, depth + 1))
    if (tuple.length > 0) return `readonly [${tuple.join(', ')}]`
    const item = this.#text(schema['items'], indent, depth + 1)
    return /[ ]/.test(item) ? `readonly (${item})[]` : `readonly ${item}[]`
  }

  #object(schema: UncheckedObject, indent: string, depth: number, without: ReadonlySet<string>): string {
    const properties = Object.entries(objectAt(schema, 'properties')).filter(([name]) => !without.has(name))
    const required = new Set(listAt(schema, 'required'))
    const inner = `${indent}  `
    const lines = properties.map(([name, property]) => {
      const comment = isObject(property) ? docComment(commentOf(property), deprecation(property), inner) : ''
      const optional = required.has(name) ? '' : '?'
      return `${comment}${inner}readonly ${propertyName(name)}${optional}: ${this.#text(property, inner, depth + 1)}\n`
    })
    if (lines.length > 0) return this.#limited(`{\n${lines.join('')}${indent}}`, depth)
    const { additionalProperties } = schema
    if (additionalProperties === false) return '{ readonly [name: string]: never }'
    return `{ readonly [name: string]: ${this.#text(additionalProperties, inner, depth + 1)} }`
  }
}

function deprecation(schema: UncheckedObject): readonly string[] {
  return schema['deprecated'] === true ? ['@deprecated'] : []
}
