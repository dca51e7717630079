/** Examples of whole values, made from their schemas in the OpenAPI document. */

import { catalogue } from '../../../../base/errors.ts'
import { isObject } from '../../../../base/json.ts'
import type { JsonSchema, JsonValue } from '../../../../model/fields/type.ts'
import { exampleValue, type NamedValue } from './example-values.ts'

/** Optional members that only some requests get. */
const conditional: ReadonlySet<string> = new Set(['total_is_estimate', 'next_cursor'])

/** Schemas refer to each other in circles. */
const maxDepth = 12

function schemasIn(value: JsonValue | undefined): readonly JsonSchema[] {
  return [value ?? []].flat().filter(value => isObject(value))
}

export class Examples {
  readonly #schemas: JsonSchema

  constructor(document: JsonSchema) {
    const components = isObject(document['components']) ? document['components'] : {}
    this.#schemas = isObject(components['schemas']) ? components['schemas'] : {}
  }

  /** A value that fits the schema; undefined where none is found. */
  of(schema: JsonSchema, named: NamedValue = { name: '', owner: '' }, depth = 0): JsonValue | undefined {
    if (depth > maxDepth) return undefined
    const { $ref: reference, const: constant, enum: values, allOf: all, anyOf: any, oneOf: one } = schema
    const [declaredExample] = [schema['examples'] ?? []].flat()
    if (typeof reference === 'string') return this.#referred(reference, named, depth)
    if (constant !== undefined) return constant
    if (declaredExample !== undefined) return declaredExample
    if (Array.isArray(values)) return values.find(value => value !== null)
    if (all !== undefined) return this.#merged(schemasIn(all), named, depth)
    const alternative = schemasIn(any ?? one).find(candidate => candidate['type'] !== 'null')
    if (alternative) return this.of(alternative, named, depth + 1)
    return this.#plain(schema, named, depth)
  }

  #plain(schema: JsonSchema, named: NamedValue, depth: number): JsonValue | undefined {
    const types = [schema['type']].flat()
    if (isObject(schema['properties'])) return this.#object(schema, schema['properties'], named, depth)
    if (types.includes('array')) return this.#array(schema, named, depth)
    // Any JSON has no type.
    return types.includes('object') || schema['type'] === undefined ? {} : exampleValue(named, schema)
  }

  #referred(reference: string, named: NamedValue, depth: number): JsonValue | undefined {
    const name = reference.split('/').at(-1) ?? ''
    const schema = this.#schemas[name]
    const owner = /List$|Page$|Meta$/.test(name) ? named.owner : name
    return isObject(schema) ? this.of(schema, { ...named, owner }, depth + 1) : undefined
  }

  #merged(parts: readonly JsonSchema[], named: NamedValue, depth: number): JsonValue {
    const objects = parts.map(part => this.of(part, named, depth + 1)).filter(value => isObject(value))
    return Object.assign({}, ...objects)
  }

  #array(schema: JsonSchema, named: NamedValue, depth: number): JsonValue {
    const item = isObject(schema['items']) ? this.of(schema['items'], named, depth + 1) : undefined
    return item === undefined ? [] : [item]
  }

  /** Without what only `include` or `fields` adds: optional members that are items themselves. */
  #object(schema: JsonSchema, properties: JsonSchema, { owner }: NamedValue, depth: number): JsonValue {
    const required = new Set([schema['required'] ?? []].flat())
    const members = Object.entries<JsonValue>(properties).flatMap(([name, member]) => {
      if (!isObject(member) || (!required.has(name) && (conditional.has(name) || this.#isItem(member))))
        return []
      const value = this.of(member, { name, owner }, depth + 1)
      return value === undefined ? [] : [[name, value] as const]
    })
    return Object.fromEntries(members)
  }

  #isItem(schema: JsonSchema): boolean {
    const { $ref: reference, anyOf: any, items } = schema
    if (isObject(items)) return this.#isItem(items)
    if (any !== undefined) return schemasIn(any).some(alternative => this.#isItem(alternative))
    if (typeof reference !== 'string') return String(schema['description']).includes('with `fields=')
    const target = this.#schemas[reference.split('/').at(-1) ?? '']
    return isObject(target) && isObject(target['properties'])
  }
}

export function errorExample(code: keyof typeof catalogue): JsonValue {
  return { error: { code, message: catalogue[code].message } }
}
