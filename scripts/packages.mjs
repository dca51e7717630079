// Which packages package-lock.json names, and which of them are installed. Runs on the machine's own Node, from version 20.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

/** The packages of a lock file, by their place in the folder; '' is the root. */
function packagesOf(file) {
  return JSON.parse(readFileSync(file, 'utf8')).packages
}

/** The place of the package that the package at `from` gets as `name`; undefined if the lock has none. */
export function placeOf(packages, from, name) {
  for (let place = from; ; place = place.slice(0, Math.max(place.lastIndexOf('/node_modules/'), 0))) {
    const path = `${place === '' ? '' : `${place}/`}node_modules/${name}`
    if (packages[path] !== undefined) return path
    if (place === '') return undefined
  }
}

/** The names of the packages that npm installs with this one. */
function namesNeededBy({ dependencies, devDependencies, peerDependencies, peerDependenciesMeta }) {
  const peers = Object.keys(peerDependencies ?? {}).filter(name => !peerDependenciesMeta?.[name]?.optional)
  return [...Object.keys({ ...dependencies, ...devDependencies }), ...peers]
}

/** The places that serving and building need: the root's packages with their dependencies, without the workspaces'. */
function placesToServe(packages) {
  const places = new Set([''])
  // The loop also visits places that are added meanwhile.
  for (const from of places) {
    for (const name of namesNeededBy(packages[from])) {
      const place = placeOf(packages, from, name)
      if (place !== undefined) places.add(place)
    }
  }
  return [...places]
}

/** Whether node_modules holds what package-lock.json names for `purpose`: 'serve', or 'everything'. */
export function isInstalled(purpose = 'everything', folder = root) {
  const hidden = join(folder, 'node_modules', '.package-lock.json')
  if (!existsSync(hidden)) return false
  const there = packagesOf(hidden)
  const packages = packagesOf(join(folder, 'package-lock.json'))
  const places = purpose === 'serve' ? placesToServe(packages) : Object.keys(packages)
  return places
    .filter(place => place.includes('node_modules/') && !packages[place].optional)
    .every(place => there[place] !== undefined && there[place].version === packages[place].version)
}

/**
 * The package with the pinned Node for a platform, with the path of its program; undefined if package-lock.json has none.
 * npm verifies its checksum, and no install script runs.
 */
export function lockedNode(folder = root, platform = process.platform, processor = process.arch) {
  const packages = packagesOf(join(folder, 'package-lock.json'))
  for (const name of Object.keys(packages.runtime.optionalDependencies)) {
    const { os, cpu, version, bin } = packages[`node_modules/${name}`]
    if (![os].flat().includes(platform) || ![cpu].flat().includes(processor)) continue
    return { name, version, path: join(folder, 'node_modules', name, bin.node) }
  }
  return undefined
}
