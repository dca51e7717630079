/** Members of JSON objects of an unknown form. */
import { isObject, type UncheckedObject } from '../../base/json.ts'

/** The object at a path of own members; empty if one is missing. */
export function objectAt(value: unknown, ...path: readonly string[]): UncheckedObject {
  let current = value
  for (const name of path) current = isObject(current) ? memberOf(current, name) : undefined
  return isObject(current) ? current : {}
}

/** Empty if the member is not a list. */
export function listAt(object: UncheckedObject, name: string): readonly unknown[] {
  const value = memberOf(object, name)
  return Array.isArray(value) ? value : []
}

/** Empty if the member is not a text. */
export function textAt(object: UncheckedObject, name: string): string {
  const value = memberOf(object, name)
  return typeof value === 'string' ? value : ''
}

/** Undefined for inherited properties, e.g. `__proto__`. */
function memberOf(object: UncheckedObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined
}
