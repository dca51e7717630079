/// <reference path="./oidc-provider.d.ts" />
/**
 * Loads oidc-provider without the warning that it prints on releases of Node that are not yet LTS. The order of these imports
 * is the order in which the modules are evaluated.
 */
import './runtime-warning.ts'
import Library, * as library from 'oidc-provider'
import { stopSuppressing } from './runtime-warning.ts'

stopSuppressing()

export const Provider = Library
export type Provider = InstanceType<typeof Provider>
export const { errors, interactionPolicy } = library
