/** Reads JSON of an unknown form. */

export type Json = string | number | boolean | null | readonly Json[] | JsonObject
export interface JsonObject {
  readonly [name: string]: Json
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The object at a path of own members; empty if one is missing. */
export function objectAt(value: Json | undefined, ...path: readonly string[]): JsonObject {
  let current = value
  for (const name of path) {
    current = isObject(current) && Object.hasOwn(current, name) ? current[name] : undefined
  }
  return isObject(current) ? current : {}
}

export function listAt(object: JsonObject, name: string): readonly Json[] {
  const value = Object.hasOwn(object, name) ? object[name] : undefined
  return Array.isArray(value) ? value : []
}

/** Empty if the member is not a text. */
export function textAt(object: JsonObject, name: string): string {
  const value = Object.hasOwn(object, name) ? object[name] : undefined
  return typeof value === 'string' ? value : ''
}
