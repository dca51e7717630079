/** Finds environment variables that look like settings and are none. */
import { fileVariable } from './read.ts'
import type { Setting } from './setting.ts'

type Table = Readonly<Record<string, Setting<unknown>>>

/** Kubernetes sets these for a service whose name begins with `portico`. */
function isOfKubernetes(name: string, value: string): boolean {
  return (
    /_(SERVICE_(HOST|PORT(_\w+)?)|PORT_\d+_(TCP|UDP)(_\w+)?)$/.test(name) || /^(tcp|udp):\/\//.test(value)
  )
}

/** `PORTICO_ACCOUNTS_SIGN_UP` and `accounts.signUp` → `accountssignup`. */
function normalizedName(name: string): string {
  return name
    .replace(/^PORTICO_/, '')
    .replace(/[^a-z0-9]/gi, '')
    .toLowerCase()
}

/** A sentence for each variable that begins with `PORTICO_` and sets nothing. */
export function unknownVariables(
  table: Table,
  environment: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  const variables = new Set(
    Object.values(table).flatMap(({ variable }) => [variable, fileVariable(variable)]),
  )
  const intended = new Map(
    Object.entries(table).flatMap(([name, { variable }]) => [
      [normalizedName(variable), variable],
      [normalizedName(name), variable],
    ]),
  )
  return Object.entries(environment)
    .filter(([name, value]) => name.startsWith('PORTICO_') && !variables.has(name) && value)
    .filter(([name, value]) => !isOfKubernetes(name, value ?? ''))
    .map(([name]) => {
      const meant = intended.get(normalizedName(name))
      return `the variable ${name} is not a setting and has no effect${meant === undefined ? '' : `: did you mean ${meant}?`}`
    })
}
