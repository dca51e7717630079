/** Disables shrinking: the smallest counterexample of a failed property is not needed. */
import fc from 'fast-check'

fc.configureGlobal({ ...fc.readConfigureGlobal(), endOnFailure: true })
