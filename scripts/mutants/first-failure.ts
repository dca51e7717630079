/** A property that fails is enough: nobody looks at the smallest example. */
import fc from 'fast-check'

fc.configureGlobal({ ...fc.readConfigureGlobal(), endOnFailure: true })
