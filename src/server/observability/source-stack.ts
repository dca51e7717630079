/** Stack traces of the built package with the places of its sources, from the source maps next to its chunks. */
import { existsSync, readFileSync } from 'node:fs'
import { isBuilt, ownFolder } from '../../base/package-files.ts'

interface SourceMap {
  readonly sources: readonly string[]
  readonly mappings: string
}

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const valueOfDigit = new Uint8Array(128)
for (let value = 0; value < digits.length; value++) valueOfDigit[digits.charCodeAt(value)] = value

const semicolon = 59
const comma = 44

/**
 * The place in the sources of a line and a column, which count from 1; undefined if the map does not have it. Reads the map
 * from its beginning and keeps nothing: the objects of `SourceMap` of node:module take 20 MB for our largest chunk.
 */
export function sourcePlace(map: SourceMap, line: number, column: number): string | undefined {
  const { sources, mappings } = map
  /** Sums of what the segments so far say: generated column, source, line and column in the source. */
  const sums = [0, 0, 0, 0]
  let [generatedLine, field, value, shift] = [1, 0, 0, 0]
  let place: string | undefined
  for (let index = 0; index <= mappings.length && generatedLine <= line; index++) {
    const code = index < mappings.length ? mappings.charCodeAt(index) : semicolon
    if (code === comma || code === semicolon) {
      const isBefore = generatedLine === line && (sums[0] ?? 0) < column
      if (isBefore && field > 1)
        place = `${sources[sums[1] ?? 0]}:${(sums[2] ?? 0) + 1}:${(sums[3] ?? 0) + 1}`
      field = 0
      if (code === semicolon) {
        generatedLine++
        sums[0] = 0
      }
      continue
    }
    const digit = valueOfDigit[code] ?? 0
    value += (digit & 31) << shift
    shift += 5
    if (digit & 32) continue
    if (field < sums.length) sums[field] = (sums[field] ?? 0) + (value & 1 ? -(value >> 1) : value >> 1)
    field++
    value = 0
    shift = 0
  }
  return place
}

/** Beyond this, places stay as they are: their number is bounded by the code, unless messages of errors contain invented ones. */
const maxKnownPlaces = 1000
/** For each stack: those of an error and its causes have about thirty. */
const maxNewPlaces = 40
/** Places that were looked up: the same errors are logged again and again. */
const knownPlaces = new Map<string, string>()

function readMap(file: URL): SourceMap | undefined {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
}

/** `maps`: those that were read for this stack. */
function lookUp(place: string, groups: readonly string[], maps: Map<string, SourceMap | undefined>): string {
  const [chunk = '', line, column] = groups
  const file = new URL(`${chunk}.map`, ownFolder)
  if (!maps.has(chunk)) maps.set(chunk, readMap(file))
  const map = maps.get(chunk)
  const found = map && sourcePlace(map, Number(line), Number(column))
  const [, source, position] = /^(.*?)(:\d+:\d+)$/.exec(found ?? '') ?? []
  return source === undefined ? place : new URL(source, file).href + position
}

/** A place in a module, as Node writes it. */
const modulePlace = /(file:\/\/[^\s()]*\/)([\w-]+\.js):(\d+):(\d+)/g

/** The stack with the places of the sources, if this is the built package. */
export function sourceStack(stack: string): string {
  if (!isBuilt) return stack
  const maps = new Map<string, SourceMap | undefined>()
  let newPlaces = 0
  return stack.replaceAll(modulePlace, (place, folder, ...groups) => {
    // The message of an error may be untrusted: only our own maps are read, and few of its places are looked up.
    if (folder !== ownFolder.href) return place
    const known = knownPlaces.get(place)
    if (known !== undefined) return known
    if (knownPlaces.size >= maxKnownPlaces || ++newPlaces > maxNewPlaces) return place
    const found = lookUp(place, groups, maps)
    knownPlaces.set(place, found)
    return found
  })
}
