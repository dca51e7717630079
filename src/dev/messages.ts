/** The messages between the supervisor and the processes that serve. Connections come with `connection`. */

import type { NewMail, ShownMail } from './mail/mailbox.ts'

/** The hash of what a file contains; null: it cannot be read, or is not there. */
export type FileHashes = readonly (readonly [path: string, hash: string | null])[]

/** What the command line says of every version. */
export interface VersionOptions {
  /** Settings. */
  readonly given: Readonly<Record<string, unknown>>
  /** The file for the types of the client, renewed with each version; undefined: none. */
  readonly client: string | undefined
  /** Whether other machines may read the mails. */
  readonly areMailsShared: boolean
}

/** What modules contained. */
export type Sources = readonly (readonly [path: string, text: string])[]

export type ToServing =
  /** Loads the settings and the model. `sources`: of these files, whatever they contain now. */
  | { readonly kind: 'load'; readonly version: VersionOptions; readonly sources: Sources | undefined }
  /** Opens the database, and gets ready to serve at this port. */
  | { readonly kind: 'open'; readonly port: number }
  /** Does the migration that `migration` has shown. */
  | { readonly kind: 'migrate' }
  | { readonly kind: 'connection' }
  /** Of this run, also of earlier versions. */
  | { readonly kind: 'mails'; readonly mails: readonly ShownMail[] }
  /** Gives every connection back as soon as it has no request. */
  | { readonly kind: 'give-back' }
  /** Gives no more back. */
  | { readonly kind: 'keep' }
  /** Does that, finishes what runs, and ends. */
  | { readonly kind: 'stop'; readonly isReplaced: boolean }

/** The addresses and sign-in that the terminal shows. */
export interface ServingAddresses {
  readonly url: string
  /** A path that answers anyone; with the administrator's key, one that lists users. */
  readonly openPath: string
  /** The text that a first start shows. */
  readonly welcome: string | undefined
}

export type FromServing =
  | {
      readonly kind: 'loaded'
      readonly files: FileHashes
      readonly host: string
      readonly port: number
      readonly model: string
    }
  /** `isPassing`: the same may succeed later by itself. */
  | {
      readonly kind: 'failed'
      readonly files: FileHashes
      readonly text: string
      readonly isPassing: boolean
    }
  /** Takes a yes. `isFitting`: the data allows it. */
  | {
      readonly kind: 'migration'
      readonly text: string
      readonly isFitting: boolean
      readonly mayRename: boolean
    }
  | { readonly kind: 'ready'; readonly migrated: readonly string[]; readonly addresses: ServingAddresses }
  /** Files that were loaded later. */
  | { readonly kind: 'files'; readonly files: FileHashes }
  | { readonly kind: 'mail'; readonly mail: NewMail }
  /** A sentence for the terminal. */
  | { readonly kind: 'note'; readonly text: string }
  /** Every connection was given back. */
  | { readonly kind: 'gave-back' }
  | { readonly kind: 'connection' }
