/* SPDX-License-Identifier: MIT */
/*
 * plane/area.h - the tables section, inside plane/.
 */
#ifndef SP_PLANE_AREA_H
#define SP_PLANE_AREA_H

#include "plane/plane.h"

/* Free the records of areas that were given back. */
void sp_area_fini(struct sp_plane *plane);

#endif
