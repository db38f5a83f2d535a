/* NAME.h. */

//# header
$banner
#ifndef ${upper}_H
#define ${upper}_H

#include <stddef.h>

/* Conventions:
   q, qd, qdd, tau: position, velocity, acceleration, effort of each joint, root to tip; rad, m and
   seconds; N m or N, positive along the joint's axis, as the actuator must supply it. Matrices are
   stored row after row. wrench: force, then torque about the tip's origin, that the environment exerts on
   the arm, in tip axes unless the function says root axes. Functions without "prepared" have the default
   parameters built in; the others take what ${name}_prepare makes of a parameters array, once per change of
   parameters. Friction is not part of any function but ${name}_friction: add it. No function allocates,
   keeps state or fails, but those that return int: 0, or the one-based number of a joint at which the
   mass matrix is singular. Arrays must not overlap. Any number of threads may call at once.
   There are $tips tips, in the order that NAME.py states: wrench has six numbers for each, and their efforts //? tips
   add up; tip_pose, tip_jacobian and tip_velocity are those of the first. //? tips
   Joints that follow by loops are the exception: their friction, follower_viscous and follower_coulomb of //? followers
   the parameters, is in inverse and forward dynamics, bias, their derivatives and reaction_wrenches. //? followers
   Each function has a form for count states, row after row: ${name}_..._batch; -DKD_WITHOUT_BATCHES leaves those //? batches
   that compute several at once out of ${name}.c, of which the compiler then takes a third of its time, and //? batches
   -D${upper}_WITHOUT_BATCHES all of them out of this file. //? batches
$legend
*/

#define ${upper}_JOINTS $joints
#define ${upper}_BODIES $bodies
#define ${upper}_TIPS $tips
#define ${upper}_PARAMETERS $size
#define ${upper}_PREPARED $prepared

#ifdef __cplusplus
extern "C" {
#endif

/* The parameters array, SI units:
$places
   payload in the tip frame, inertia xx xy xz yy yz zz about its centre of mass. */ //! tips
   of each tip, one after the other: its payload in its frame, inertia xx xy xz yy yz zz about its centre. */ //? tips
void ${name}_default_parameters($real *out);
void ${name}_prepare(const $real *parameters, $real *out);

$declarations
#ifndef ${upper}_WITHOUT_BATCHES //? batches
$batches //? batches
#endif //? batches

#ifdef __cplusplus
}
#endif

/* For bindings: X(function, inputs, takes prepared (yes, no, or defaults: the parameters are built
   in, function_with takes others), may be singular, rank and extents of out). */
#define ${upper}_FUNCTIONS(X) \
$table

#endif

//# declaration
/* $summary; out: $shape; $cost. */
$head;
