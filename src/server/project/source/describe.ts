/** Describes errors in a project's sources, with the code around each place. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import { printable } from '../../../base/printable.ts'
import type { ModelError } from '../../../model/check/faults.ts'
import { declarationPlace } from './declaration-place.ts'
import { errorPlace } from './error-place.ts'
import { codeFrame } from './frame.ts'

/** The maximum number of faults with a code frame. */
const maxFrames = 10

function indented(text: string, indent: string): string {
  return text.replaceAll(/^/gm, indent)
}

/** `npm init` creates projects of CommonJS modules. */
function moduleHint(error: unknown): string {
  const isReadAsCommonJs =
    error instanceof SyntaxError && /import statement outside a module|token 'export'/.test(error.message)
  return isReadAsCommonJs ? ' Write `"type": "module"` into package.json: `npm pkg set type=module`.' : ''
}

/** Node does not add extensions to imports. */
function extensionHint(error: Error): string {
  if (!('url' in error) || typeof error.url !== 'string' || !error.url.startsWith('file:')) return ''
  const path = fileURLToPath(error.url)
  const extension = ['.ts', '.js', '.mts', '/index.ts'].find(end => existsSync(path + end))
  if (extension !== undefined) return ` Write the whole name of the file: it ends with \`${extension}\`.`
  const typescriptPath = path.replace(/\.js$/, '.ts')
  return typescriptPath !== path && existsSync(typescriptPath)
    ? ' Write `.ts` instead of `.js`: Node does not replace extensions.'
    : ''
}

function strippingHint(error: Error): string {
  if (!('code' in error) || error.code !== 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') return ''
  return ' Node runs TypeScript by removing its types, which is not possible here. Use plain JavaScript, e.g. an object `as const` for an enum.'
}

/** The message of an error, with its name and a hint. */
function messageOf(error: Error): string {
  const { message } = error
  const name = error.name === 'Error' ? '' : `${error.name}: `
  return `${name}${message}${/[.!?]$/.test(message) ? '' : '.'}${extensionHint(error)}${strippingHint(error)}`
}

/** Uses `inspect`, because JSON cannot represent a bigint, a symbol or a circular object. */
function notAnError(thrown: unknown): string {
  const value =
    typeof thrown === 'string' ? JSON.stringify(thrown) : inspect(thrown, { breakLength: Infinity })
  return `It throws ${printable(value)}, which is not an error.`
}

/** The reason for which a module cannot be loaded. It follows a sentence that names the module. */
export function describeLoadError(error: unknown): string {
  if (!(error instanceof Error)) return `\n  ${notAnError(error)}`
  const place = errorPlace(error)
  if (place === undefined) return `${moduleHint(error)}\n${error.stack ?? error.message}`
  return `${moduleHint(error)}\n\n${indented(messageOf(error), '  ')}\n\n${indented(codeFrame(place), '  ')}`
}

/** All faults of a model, with their places in the sources where these can be found. */
export function describeModelError(file: string, { faults }: ModelError): string {
  return describeFaults(file, 'The model has', faults)
}

/** A fault in the declaration of a file. `place`: a path of keys, such as `posts.fields.title`. */
export interface DeclarationFault {
  readonly place: string
  readonly message: string
}

/** The faults of a file's default export. `subject`: e.g. `The model has`. */
export function describeFaults(file: string, subject: string, faults: readonly DeclarationFault[]): string {
  const count = faults.length === 1 ? '1 fault' : `${faults.length} faults`
  const descriptions = faults.map(({ place, message }, index) => {
    const source = index < maxFrames ? declarationPlace(file, place, message) : undefined
    const frame = source === undefined ? '' : `\n${indented(codeFrame(source), '    ')}\n`
    return `\n  ${place}: ${message}${frame}`
  })
  return `${subject} ${count}:${descriptions.join('')}`
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
