/** The generated references of settings and of errors. */

import { catalogue } from '../../base/errors.ts'
import { settingsTable } from './config.ts'

const settingsIntro = `# Settings

This page is generated: \`portico print config\` prints it.

A setting can be given in three ways, in this order of precedence:

1. as an argument of \`serve(model, settings)\`, by its name,
2. as an environment variable, or as a line of the file \`.env\`: \`PORT=8080\`,
3. in \`portico.config.json\`, or as the default export of \`portico.config.ts\`, by its name.

A name with a dot is a member of a group: \`{ "graphql": { "documents": "registered" } }\`.

Only the command line reads the two files, from the folder in which \`portico\` runs. A variable that is set takes precedence
over its line in \`.env\`. If values are invalid, the start fails and lists all of them.

A value can also be in a file of its own, as secrets of Docker and Kubernetes are: the variable with \`_FILE\` names it, for instance
\`PORTICO_SECRET_KEY_FILE=/run/secrets/secret_key\`. The last line break of the file does not count.

A duration or a size has its unit: \`30 s\` and \`16 MiB\`, and \`'30 s'\` in an object. The units of durations are \`ms\`, \`s\`, \`min\`, \`h\` and
\`d\` (24 hours), those of sizes \`B\`, \`KiB\`, \`MiB\`, \`GiB\` and \`TiB\`. A number without a unit is refused.

Some settings have members: \`user=1000, address=240\` in the variable, \`{ "user": 1000, "address": 240 }\` elsewhere. Omitted members keep their defaults.
`

function cell(text: string): string {
  return text.replaceAll('|', '\\|')
}

interface DocumentedSetting {
  readonly variable: string
  readonly kind: { readonly expected: string }
  readonly default: unknown
  readonly defaultText?: string
  readonly members?: readonly string[]
  readonly description: string
}

function settingSection(name: string, row: DocumentedSetting): string {
  const defaultText = row.defaultText ?? (row.default === undefined ? 'none' : `\`${row.default}\``)
  return [
    `## \`${name}\``,
    '',
    row.description,
    '',
    `- Variable: \`${row.variable}\``,
    `- Value: ${row.kind.expected}`,
    ...(row.members ?? []).map(text => `  - ${text}`),
    `- Default: ${defaultText}`,
    '',
  ].join('\n')
}

/** The text of `docs/configuration.md`. */
export function configurationPage(): string {
  const rows: readonly [string, DocumentedSetting][] = Object.entries(settingsTable)
  return [settingsIntro, ...rows.map(([name, row]) => settingSection(name, row))].join('\n')
}

const errorsIntro = `# Errors

This page is generated from the table in \`src/base/errors.ts\`.

Every error has the form \`{"error":{"code":"NOT_FOUND","message":"…"}}\`. With \`Accept: application/problem+json\`
the body has the form of RFC 9457. The code is stable; the message is for people and may be more precise than in this table.
The OAuth endpoints that apps call return [the errors of RFC 6749](oauth.md#errors).

| status | code | message | what to do |
|---|---|---|---|
`

/** The text of `docs/errors.md`. */
export function errorsPage(): string {
  const rows = Object.entries(catalogue).map(
    ([code, { status, message, hint }]) =>
      `| ${status} | <a id="${code}"></a>\`${code}\` | ${cell(message)} | ${cell(hint)} |`,
  )
  return `${errorsIntro}${rows.join('\n')}\n`
}
