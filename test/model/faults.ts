/** The faults of invalid models. */
import assert from 'node:assert/strict'
import { checkModel, type Declaration, ModelError } from '../../src/index.ts'

/** A value that a JavaScript file could pass despite the types. */
export const untyped = (value: unknown): never => value as never

/** The faults of the `ModelError` that `check` throws, as `place: message`; empty if it does not throw. */
export function faultsIn(check: () => unknown): readonly string[] {
  try {
    check()
    return []
  } catch (error) {
    assert.ok(error instanceof ModelError, String(error))
    return error.faults.map(({ place, message }) => `${place}: ${message}`)
  }
}

export function faultsOf(declaration: Declaration): readonly string[] {
  return faultsIn(() => checkModel(declaration))
}
