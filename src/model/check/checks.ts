/** Checks the checks that read: each belongs to a declared collection. */
import { isObject } from '../../base/json.ts'
import { managedCollections } from '../builtin/managed.ts'
import type { LogicDeclaration } from '../logic/logic.ts'
import type { ReadingCheck } from '../model.ts'
import { didYouMean } from '../suggest.ts'
import type { Faults } from './faults.ts'
import type { Outlines } from './outline.ts'

export function checksOf(
  declared: LogicDeclaration['checks'],
  outlines: Outlines,
  faults: Faults,
): ReadonlyMap<string, ReadingCheck> {
  const checks = new Map<string, ReadingCheck>()
  for (const [name, declaration] of Object.entries(declared ?? {})) {
    const place = `checks.${name}`
    if (!outlines.has(name)) {
      faults.add(place, `There is no collection \`${name}\`.${didYouMean(name, outlines.keys())}`)
    } else if (managedCollections.has(name)) {
      faults.add(
        place,
        `\`${name}\` is built in: only \`users\` and collections of your own can have checks.`,
      )
    } else if (
      isObject(declaration) &&
      declaration.kind === 'check' &&
      typeof declaration.run === 'function'
    ) {
      checks.set(name, declaration.run as ReadingCheck)
    } else {
      faults.add(place, 'This is not a check. Write `check(async ({ next, data }) => [])`.')
    }
  }
  return checks
}
