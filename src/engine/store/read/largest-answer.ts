/**
 * How large an answer can be at most: its rows times their largest texts. It decides whether a read needs the more expensive
 * statements that bound the answer while it is made.
 */
import { maxBytesOf } from '../../../model/fields/max-bytes.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import type {
  GuardedAggregation,
  GuardedRoot,
  GuardedSelected,
  GuardedSelectedList,
} from '../../plan/guarded.ts'
import type { Param, SelectedAggregate } from '../../plan/plan.ts'
import type { GuardedReadShape } from './answers.ts'

/** In bytes. */
export type LargestAnswer = (args: readonly JsonValue[]) => number

/** Of a text whose type bounds no length: request bodies do, by default. */
const unboundedTextBytes = 1024 * 1024

/** A part of an answer: its own bytes, and its lists, each with the bytes of one of its rows. */
interface Part {
  readonly bytes: number
  readonly lists: readonly { readonly limit: Param; readonly row: Part }[]
}

const shapes = new WeakMap<GuardedReadShape, LargestAnswer>()

export function largestAnswer(shape: GuardedReadShape): LargestAnswer {
  const cached = shapes.get(shape)
  if (cached !== undefined) return cached
  const largest = largestOf(partOf(shape))
  shapes.set(shape, largest)
  return largest
}

function largestOf(part: Part): LargestAnswer {
  return part.lists.length === 0 ? () => part.bytes : args => sizeOf(part, args)
}

function sizeOf({ bytes, lists }: Part, args: readonly JsonValue[]): number {
  let size = bytes
  for (const { limit, row } of lists) size += Number(args[limit]) * sizeOf(row, args)
  return size
}

function partOf(shape: GuardedReadShape): Part {
  switch (shape.kind) {
    case 'item':
      return selectPart(shape.select)
    case 'list':
      return listPart(shape.window.limit, selectPart(shape.select))
    case 'aggregate':
      return aggregatePart(shape.aggregation)
    case 'composite':
      return sum(shape.roots.map(rootPart))
  }
}

function rootPart(root: GuardedRoot): Part {
  if (root.kind === 'aggregate') return keyed(root.key, aggregatePart(root.aggregation))
  const row = selectPart(root.select)
  return keyed(root.key, root.kind === 'item' ? row : selectedListPart(root.list, row))
}

function selectPart(select: readonly GuardedSelected[]): Part {
  return sum(select.map(selected => keyed(selected.key, selectedPart(selected))))
}

function selectedPart(selected: GuardedSelected): Part {
  if (selected.kind === 'constant') return ofBytes(selected.value.length)
  if (selected.kind === 'field') return ofBytes(textBytes(selected.field.field.type))
  const { list, select } = selected
  const row = selectPart(select)
  return list === undefined ? row : selectedListPart(list, row)
}

function selectedListPart({ limit, sort, connection }: GuardedSelectedList, row: Part): Part {
  const keys = connection === undefined ? [] : sort.map(({ field }) => ofBytes(textBytes(field.field.type)))
  return listPart(limit, sum([row, ...keys]))
}

function aggregatePart({ select, limit, groups }: GuardedAggregation): Part {
  const aggregate = (selected: SelectedAggregate): Part => {
    if (selected.kind === 'constant') return keyed(selected.key, ofBytes(selected.value.length))
    if (selected.kind === 'object') return keyed(selected.key, sum(selected.select.map(aggregate)))
    const group = selected.kind === 'group' ? groups[selected.index] : undefined
    const isWhole = group !== undefined && group.part === undefined
    return keyed(selected.key, ofBytes(isWhole ? textBytes(group.field.field.type) : shortBytes))
  }
  return listPart(limit, sum(select.map(aggregate)))
}

/** Of a number, or of a part of a date. */
const shortBytes = 30
/** The punctuation of a member: quotes, colon and comma. */
const memberBytes = 6

function textBytes(type: Parameters<typeof maxBytesOf>[0]): number {
  return Math.min(unboundedTextBytes, maxBytesOf(type))
}

function ofBytes(bytes: number): Part {
  return { bytes, lists: [] }
}

function keyed(key: string, part: Part): Part {
  return { ...part, bytes: part.bytes + key.length + memberBytes }
}

function listPart(limit: Param, row: Part): Part {
  return { bytes: 2, lists: [{ limit, row }] }
}

function sum(parts: readonly Part[]): Part {
  return {
    bytes: parts.reduce((bytes, part) => bytes + part.bytes, 0),
    lists: parts.flatMap(({ lists }) => lists),
  }
}
