/** Describes errors in a project's sources, with the code around each place. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import type { ModelError } from '../model/check/faults.ts'
import { printable } from '../printable.ts'
import { declarationPlace } from './declaration-place.ts'
import { errorPlace } from './error-place.ts'
import { codeFrame } from './frame.ts'

/** The maximum number of faults with a code frame. */
const maxFrames = 10

function indented(text: string, by: string): string {
  return text.replaceAll(/^/gm, by)
}

/** `npm init` creates projects of CommonJS modules. */
function moduleHint(error: unknown): string {
  const isRead =
    error instanceof SyntaxError && /import statement outside a module|token 'export'/.test(error.message)
  return isRead ? ' Write `"type": "module"` into package.json: `npm pkg set type=module`.' : ''
}

/** Node does not add extensions to imports. */
function extensionHint(error: Error): string {
  if (!('url' in error) || typeof error.url !== 'string' || !error.url.startsWith('file:')) return ''
  const path = fileURLToPath(error.url)
  const there = ['.ts', '.js', '.mts', '/index.ts'].find(end => existsSync(path + end))
  if (there !== undefined) return ` Write the whole name of the file: it ends with \`${there}\`.`
  const typed = path.replace(/\.js$/, '.ts')
  return typed !== path && existsSync(typed)
    ? ' Write `.ts` instead of `.js`: Node takes the name as it is.'
    : ''
}

function strippingHint(error: Error): string {
  if (!('code' in error) || error.code !== 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') return ''
  return ' Node runs TypeScript by leaving out its types, which cannot be done here. Use plain JavaScript, e.g. an object `as const` for an enum.'
}

/** The message of an error, with its name and a hint. */
function messageOf(error: Error): string {
  const { message } = error
  const name = error.name === 'Error' ? '' : `${error.name}: `
  return `${name}${message}${/[.!?]$/.test(message) ? '' : '.'}${extensionHint(error)}${strippingHint(error)}`
}

/** `inspect`, since JSON has no form for a bigint, a symbol or a circular object. */
function notAnError(thrown: unknown): string {
  const shown =
    typeof thrown === 'string' ? JSON.stringify(thrown) : inspect(thrown, { breakLength: Infinity })
  return `It throws ${printable(shown)}, which is no error.`
}

/** Why a module cannot be loaded. Follows a sentence that names the module. */
export function describeLoadError(error: unknown): string {
  if (!(error instanceof Error)) return `\n  ${notAnError(error)}`
  const place = errorPlace(error)
  if (place === undefined) return `${moduleHint(error)}\n${error.stack ?? error.message}`
  return `${moduleHint(error)}\n\n${indented(messageOf(error), '  ')}\n\n${indented(codeFrame(place), '  ')}`
}

/** All faults of a model, with their places in the sources as far as they are found. */
export function describeModelError(file: string, { faults }: ModelError): string {
  return describeFaults(file, 'The model has', faults)
}

/** A fault in the declaration of a file. `place`: a path of keys, such as `posts.fields.title`. */
export interface DeclarationFault {
  readonly place: string
  readonly message: string
}

/** The faults of a file's default export. `who`: e.g. `The model has`. */
export function describeFaults(file: string, who: string, faults: readonly DeclarationFault[]): string {
  const count = faults.length === 1 ? '1 fault' : `${faults.length} faults`
  const shown = faults.map(({ place, message }, at) => {
    const source = at < maxFrames ? declarationPlace(file, place) : undefined
    const frame = source === undefined ? '' : `\n${indented(codeFrame(source), '    ')}\n`
    return `\n  ${place}: ${message}${frame}`
  })
  return `${who} ${count}:${shown.join('')}`
}

/** An unexpected error: its stack, and the code around the innermost place in the project. */
export function describeCrash(error: unknown): string {
  if (!(error instanceof Error)) return notAnError(error)
  const place = errorPlace(error)
  const lines = (error.stack ?? `${error.name}: ${error.message}`).split('\n')
  // The message may contain untrusted text.
  const stack = lines.map(printable).join('\n')
  return place === undefined ? stack : `${stack}\n\n${indented(codeFrame(place), '  ')}`
}
