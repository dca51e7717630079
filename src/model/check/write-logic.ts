/** Checks `prepare` and `check` of a collection. */

import type { Collection } from '../model.ts'
import type { Faults } from './faults.ts'
import type { Outline } from './outline.ts'

export function checkedWriteLogic(outline: Outline, faults: Faults): Pick<Collection, 'prepare' | 'check'> {
  const { prepare, check } = outline.options
  checkFunction('prepare', prepare, outline, faults)
  checkFunction('check', check, outline, faults)
  return { prepare, check }
}

const examples = {
  prepare: '({ next, now }) => ({ … })',
  check: "({ next }) => [{ field: 'title', message: '…' }]",
}

/** A write cannot wait for asynchronous code. */
const asynchronous = /^Async|Generator/

function checkFunction(option: 'prepare' | 'check', value: unknown, { name }: Outline, faults: Faults): void {
  if (value === undefined) return
  const place = `${name}.${option}`
  if (typeof value !== 'function') {
    faults.add(place, `Write a function: \`${option}: ${examples[option]}\`.`)
  } else if (asynchronous.test(Object.getPrototypeOf(value)?.constructor?.name ?? '')) {
    faults.add(place, 'It must be a plain function: it runs within the write, and cannot wait.')
  }
}
